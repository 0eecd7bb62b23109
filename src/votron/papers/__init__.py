"""The papers' experiments: tables and figures as data."""
