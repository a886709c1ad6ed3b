"""What stands before Streamlit."""
