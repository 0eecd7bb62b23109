"""Tables of mixed columns as vectors of numbers."""

from votron.tables.base import Column
from votron.tables.encoder import TableEncoder, encoder_of, tabular_encoder
from votron.tables.unseen import Unseen

__all__ = ["Column", "TableEncoder", "Unseen", "encoder_of", "tabular_encoder"]
