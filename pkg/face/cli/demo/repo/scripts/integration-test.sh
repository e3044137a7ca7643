#!/bin/sh
# Runs on every merge candidate, before the integration branch moves.
exec sh tests/run.sh
