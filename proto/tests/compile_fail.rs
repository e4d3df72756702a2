//! What the types must make impossible: these programs do not compile, for the reason they name. In a full run; that they do not
//! compile is shown by the doc tests of `src/lib.rs` in each.

#[test]
fn misuse_of_the_wire_does_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}
