#!/bin/sh
# Makes the environment in which tests/airflow run Airflow: .airflow in the root of the checkout. PYTHON names an interpreter that Airflow supports.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
"${PYTHON:-python3}" -m venv "$root/.airflow"
"$root/.airflow/bin/pip" install --quiet -c "$root/tests/airflow/constraints.txt" apache-airflow -e "$root"
