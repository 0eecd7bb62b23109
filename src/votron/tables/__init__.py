"""Tables of mixed columns as vectors of numbers."""

from votron.tables.column import Column
from votron.tables.encoder import TableEncoder, encoder_of, tabular_encoder, unseen_sentences

__all__ = ["Column", "TableEncoder", "encoder_of", "tabular_encoder", "unseen_sentences"]
