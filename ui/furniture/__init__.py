"""What pages are built of: header, strip, formula, sections, exercise, program, share, figures."""
