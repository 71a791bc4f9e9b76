#!/bin/sh
# Index the sample corpus and ask three questions: plain, a look-alike trap, one that the corpus cannot answer.
set -eu
cd "$(dirname "$0")/.."
DISTINGUO_MODELS=$(distinguo models where) DISTINGUO_HOME=$PWD/.demo
export DISTINGUO_MODELS DISTINGUO_HOME
set -x
distinguo index examples/corpus
distinguo ask "At what times does the ferry to Ellerholm leave the mainland?"
distinguo ask "How many mg of Calvoryn per kg does a seal receive?"
distinguo ask "In which country are the Brinelock cabinets made?"
