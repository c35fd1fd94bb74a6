"""Every Kit name that the panel uses, one module per concern: window, viewport and menu."""
