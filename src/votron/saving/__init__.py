"""Model files: what they are made of, and how they are read without trust.

`votron.save` and `votron.load` are the doors; here is what stands behind them: the file itself (`container`), what is
in it (`fields`), and how kernels, records and encoders are written down (`values`, `encoders`).
"""
