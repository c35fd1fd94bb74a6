"""The study on learned multi-view predictions: training, provenance reassignment, coarsening."""
