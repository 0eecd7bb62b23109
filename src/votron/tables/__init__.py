"""Tables of mixed columns as vectors of numbers."""

from votron.tables.base import Column
from votron.tables.encoder import TableEncoder, tabular_encoder
from votron.tables.unseen import Unseen

__all__ = ["Column", "TableEncoder", "Unseen", "tabular_encoder"]
