# Two commands are enough on a fresh machine: `make demo` and `make test`.
# Everything here is built in one profile, so that RocksDB's C++ is compiled once.

.PHONY: help demo test lint docs fixtures bench install prerequisites

help:
	@echo 'make demo      build what is missing and open the console on the bundled demo'
	@echo 'make test      run the tests'
	@echo 'make lint      check format and lints'
	@echo 'make docs      build the API documentation into target/doc'
	@echo 'make fixtures  write the test checkpoints again with real Spark (Java 17, Python, PyPI)'
	@echo 'make bench     measure against Spark on the same files (Java 17, Python, PyPI)'
	@echo 'make install   put the optimised statetop into ~/.cargo/bin'

prerequisites:
	@sh scripts/prerequisites.sh

demo: prerequisites
	@cargo run -- demo

test: prerequisites
	cargo test

lint: prerequisites
	cargo fmt --check
	cargo clippy --all-targets -- -D warnings

docs: prerequisites
	RUSTDOCFLAGS=-Dwarnings cargo doc --no-deps

fixtures:
	tests/spark/generate.sh

bench: prerequisites
	benches/compare.sh
	benches/state.sh
	cargo bench --profile dev --bench frame -- --quick

install: prerequisites
	cargo install --path . --locked
