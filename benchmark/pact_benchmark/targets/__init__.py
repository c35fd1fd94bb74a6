"""Published figures, as comparison data only: nothing that computes a result reads them."""
