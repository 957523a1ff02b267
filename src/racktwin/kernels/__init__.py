"""One operator on one chip: roofline times measured efficiency."""
