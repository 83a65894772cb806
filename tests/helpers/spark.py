"""Tables of PySpark."""

import importlib


def of_spark(table):
    """PySpark, of the extra "engines", is large and needs Java: not here, a failure."""
    session = importlib.import_module("pyspark.sql").SparkSession
    spark = session.builder.master("local[1]").config("spark.ui.enabled", "false")
    return spark.getOrCreate().createDataFrame(table)
