"""All that knows Streamlit, Plotly or JavaScript."""
