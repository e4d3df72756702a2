//! What the types must make impossible: these programs do not compile, for the reason they name.

#[test]
fn misuse_of_the_wire_does_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}
