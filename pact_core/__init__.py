"""The mathematics of PACT: provenance partition, evidence, fusion, selection, typed admission."""
