"""The checks of an audit, by group. Each check is a pure function of a page's facts, or one SQL query."""
