"""Training on rows that are spread over several workers, with the record of one machine."""
