"""Whole configurations, as functions."""
