"""Views in the browser besides the equation."""
