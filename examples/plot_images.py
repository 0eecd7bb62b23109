"""
Deskewed digits and virtual examples
====================================

The same digit written with another slant, or one pixel to the side, is far away for a kernel on pixels. Deskewing takes
such differences out: each image is sheared until it stands upright, and moved to the centre. Virtual examples put them
in: copies of the support vectors, shifted, thicker, or left a little askew, are trained on in a second round. Integers
stay integers, so training stays exact and fast. ``votron reproduce frontier`` measures the same on MNIST.

Reference: LeCun et al. (1998), "Gradient-based learning applied to document recognition", for deskewing; DeCoste &
Schölkopf (2002), "Training invariant support vector machines", for virtual examples.
"""

import matplotlib.pyplot as plt
import numpy as np

from votron import VotedPerceptronClassifier
from votron.data import load_image_set
from votron.kernels import LinearKernel, NormalizedKernel, PolynomialKernel
from votron.papers.images import EIGHT, deskew, shift, thicken, with_shifts

digits = load_image_set("digits")
X, y, X_test, y_test = digits.X, digits.y, digits.X_test, digits.y_test

# %%
# Three ways to train, with the kernel (1 + 3 x·z)⁶ on images of length 1: on pixels as they are, on deskewed images,
# and on the support vectors of these together with eight shifts of each.
model = VotedPerceptronClassifier(
    kernel=PolynomialKernel(6, gamma=3.0).of(NormalizedKernel(LinearKernel())),
    margin=0.5,
    epochs=10,
    rule="vote",
    random_state=0,
)
errors = {"as they are": 100 * np.mean(model.fit(X, y).predict(X_test) != y_test)}
upright, upright_test = deskew(X), deskew(X_test)
errors["deskewed"] = 100 * np.mean(model.fit(upright, y).predict(upright_test) != y_test)
virtual = with_shifts(upright[model.support_], y[model.support_], EIGHT)
errors["deskewed,\nwith shifts"] = 100 * np.mean(model.fit(*virtual).predict(upright_test) != y_test)
for name, error in errors.items():
    print(f"{name.replace(chr(10), ' ')}: {error:.2f} % wrong")

# %%
# What happens to some digits.
some = [7, 15, 21, 33]
shown = {
    "as it is": X[some],
    "deskewed": upright[some],
    "shifted": shift(upright[some], 0, 1),
    "thicker": thicken(upright[some]),
    "askew": deskew(X[some], spread=0.15, offset=0.5, seed=1),
}
figure = plt.figure(figsize=(9.6, 4.2), layout="constrained")
left, right = figure.subfigures(1, 2, width_ratios=[1.4, 1])
grid = left.subplots(len(some), len(shown))
for column, (name, images) in zip(grid.T, shown.items(), strict=True):
    column[0].set_title(name)
    for axes, image in zip(column, images, strict=True):
        axes.imshow(image.reshape(8, 8), cmap="Greys")
        axes.axis("off")
axes = right.subplots()
axes.bar_label(axes.bar(list(errors), list(errors.values()), color="#1f4e9c"), fmt="%.2f")
axes.set_ylabel("test error in %")

figure.savefig("images.svg")
plt.show()
