"""
The perceptron game in the plane
================================

Player A shows examples, player B, the perceptron, predicts their labels. A must keep to two rules: no example is longer
than R = 1, and all are at least γ away from the line that the target u is perpendicular to. A wants mistakes: of the
examples that B would get wrong, it always shows the one whose mistake leaves B's guess v at the widest angle to u. The
right panel is the proof that this ends after R²/γ² mistakes at most: kγ ≤ v·u ≤ ‖v‖ ≤ √k R.

Reference: Cohen, "Linear Classifiers and the Perceptron", sections 3.2-3.4; his R, with ‖x‖² < R, is R² here.
"""

import matplotlib.pyplot as plt
import numpy as np

from votron import OnlinePerceptron

GAMMA = 0.2
u = np.array([0.6, 0.8])

# %%
# Examples are uniform in the disk, without the band around the line.
rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, (1024, 2))
X = X[(np.linalg.norm(X, axis=1) <= 1) & (np.abs(X @ u) >= GAMMA)][:300]
y = np.where(X @ u > 0, 1, -1)

# %%
# The game. ``OnlinePerceptron`` keeps its history, and with a target the numbers of the proof as well.
learner = OnlinePerceptron(target=u, keep_history=True)
signed = y[:, None] * X
while len(wrong := np.flatnonzero(signed @ learner.v <= 0)):
    after = learner.v + signed[wrong]
    worst = wrong[np.argmin((after @ u) / np.linalg.norm(after, axis=1))]
    learner.update(X[worst], y[worst])

mistakes = learner.history  # every round was a mistake
k, bound = np.arange(len(mistakes) + 1), 1 / GAMMA**2
guesses = np.array([[0.0, 0.0], *(mistake.v for mistake in mistakes)])
along, length = guesses @ u, np.linalg.norm(guesses, axis=1)

print("k     kγ    v·u    ‖v‖   √k R")
for i in k[1:]:
    print(f"{i}  {i * GAMMA:.3f}  {along[i]:.3f}  {length[i]:.3f}  {i**0.5:.3f}")
print(f"{learner.k} mistakes in {learner.t} rounds, at most {bound:.4g} by the theorem.")

# %%
# The guess turns towards the target, and the proof of the bound: the outer two curves cross.
figure, (plane, proof) = plt.subplots(1, 2, figsize=(10.4, 5), layout="constrained")
for sign, marker, colour in ((1, "+", "#009e73"), (-1, "_", "#b5588a")):
    plane.scatter(*X[y == sign].T, marker=marker, color=colour, linewidths=1.1)
across = np.array([-u[1], u[0]])
band = [s * GAMMA * u + t * 1.3 * across for s, t in ((1, 1), (1, -1), (-1, -1), (-1, 1))]
plane.add_patch(plt.Polygon(band, facecolor="#e6e6e6", zorder=0))
plane.add_patch(plt.Circle((0, 0), 1, facecolor="none", edgecolor="#999999"))
shades = plt.colormaps["Blues"](np.linspace(0.45, 0.95, len(k)))
for i in k[1:]:
    plane.annotate("", guesses[i], (0, 0), arrowprops={"arrowstyle": "-|>", "color": shades[i], "shrinkB": 0})
plane.annotate("", u, (0, 0), arrowprops={"arrowstyle": "-|>", "linewidth": 2.5, "shrinkB": 0})
plane.annotate("u", u, (-12, 0), textcoords="offset points", fontweight="bold")
plane.update_datalim([[-1.3, -1.3], [1.3, guesses[:, 1].max()]])
plane.set_aspect("equal")
plane.axis("off")
plane.set_title("The guess v after each mistake, and the target u")

beyond = np.linspace(0, 1.1 * bound, 200)
proof.plot(beyond, beyond**0.5, "--", color="#c8500a", label="√k R, by lemma 2")
proof.plot(k, length, "s-", color="#c8500a", label="‖v‖")
proof.plot(k, along, "o-", color="#0072b2", label="v·u")
proof.plot(beyond, GAMMA * beyond, "--", color="#0072b2", label="kγ, by lemma 1")
proof.axvline(bound, color="#333333", linestyle=":", label=f"R²/γ² = {bound:.4g}")
proof.set_xlabel("mistakes k")
proof.set_ylim(bottom=0)
proof.grid(color="#e6e6e6")
proof.legend(frameon=False)
proof.set_title("kγ ≤ v·u ≤ ‖v‖ ≤ √k R, and the outer two cross")

figure.savefig("game.svg")
plt.show()
