"""Reads a folder of Parquet files with pyarrow and DuckDB, and prints what both find as JSON."""

import json
import pathlib
import sys

import duckdb
import pyarrow.parquet as pq

found = {}
for path in sorted(pathlib.Path(sys.argv[1]).iterdir()):
    table = pq.read_table(path)
    order = [name for name in ("instance", "pid", "time") if name in table.column_names]
    groups = pq.ParquetFile(path)
    is_sorted = True
    for group in range(groups.num_row_groups):
        rows = groups.read_row_group(group, columns=order).to_pylist()
        keys = [tuple((row[name] is not None, row[name]) for name in order) for row in rows]
        is_sorted = is_sorted and keys == sorted(keys)
    query = f"select * from read_parquet('{path}')"
    by_duckdb = duckdb.sql(query)
    # The same values by both readers, in the same order.
    rows = table.to_pylist()
    same = [list(row.values()) for row in rows] == [list(row) for row in by_duckdb.fetchall()]
    found[path.name] = {
        "columns": {
            field.name: [
                str(field.type),
                {key.decode(): value.decode() for key, value in (field.metadata or {}).items()},
            ]
            for field in table.schema
        },
        "duckdb_types": dict(zip(by_duckdb.columns, map(str, by_duckdb.types))),
        "metadata": {
            key.decode(): value.decode()
            for key, value in table.schema.metadata.items()
            if key != b"ARROW:schema"
        },
        "is_sorted": is_sorted,
        "same": same,
        "rows": [
            {name: value.isoformat() if name == "time" else value for name, value in row.items()}
            for row in rows
        ],
    }
print(json.dumps(found))
