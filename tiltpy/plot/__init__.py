"""Pictures of temporal objects: numbers in, figures of matplotlib or Bokeh out."""
