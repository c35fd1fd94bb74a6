"""Every Kit and Isaac Sim name that the extension uses, one module per concern.

A new Isaac Sim version is checked here: nothing else in the package imports `carb`, `omni` or
`isaacsim` (commands and the extension class derive from Kit's base classes and are the exception).
"""
