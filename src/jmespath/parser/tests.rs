use super::*;
use crate::jmespath::Expression;

fn refused(text: &str) -> ParseError {
    Expression::parse(text).expect_err(text)
}

#[test]
fn errors_have_a_reason_and_an_offset() {
    for (text, message, offset) in [
        ("", "SyntaxError: Incomplete expression", 0),
        ("a b", "SyntaxError: Unexpected token at the end of the expression: tUnquotedIdentifier", 2),
        ("a-b", "SyntaxError: Unexpected token at the end of the expression: tNumber", 1),
        ("a = b", "SyntaxError: Unexpected token at the end of the expression: tUnknown", 2),
        ("a & b", "SyntaxError: Unexpected token at the end of the expression: tExpref", 2),
        ("-1", "SyntaxError: Invalid token: tNumber", 0),
        ("&a", "SyntaxError: Invalid token: tExpref", 0),
        ("a || &b", "SyntaxError: Invalid token: tExpref", 5),
        ("[n,]", "SyntaxError: Invalid token: tRbracket", 3),
        ("[a b]", "SyntaxError: Expected tComma, received: tUnquotedIdentifier", 3),
        ("a.[0]", "SyntaxError: Invalid token: tNumber", 3),
        ("{}", "SyntaxError: Expected tQuotedIdentifier or tUnquotedIdentifier", 1),
        ("{a: n,}", "SyntaxError: Expected tQuotedIdentifier or tUnquotedIdentifier", 6),
        ("a.{b c}", "SyntaxError: Expected tColon, received: tUnquotedIdentifier", 5),
        ("'abc", "SyntaxError: Unclosed delimiter: '", 0),
        ("\"abc", "SyntaxError: Unclosed delimiter: \"", 0),
        ("`1", "SyntaxError: Unclosed delimiter: `", 0),
        (r"'a\\'", "SyntaxError: Unclosed delimiter: '", 0),
        ("a #", "SyntaxError: Unknown char: '#'", 2),
        ("a + b", "SyntaxError: Unknown char: '+'", 2),
        ("a ==", "SyntaxError: Incomplete expression", 4),
        ("(a", "SyntaxError: Expected tRparen, received: tEOF", 2),
        ("a[", "SyntaxError: Expected tStar, received: tEOF", 2),
        ("a[x]", "SyntaxError: Expected tStar, received: tUnquotedIdentifier", 2),
        ("a['x']", "SyntaxError: Expected tStar, received: tStringLiteral", 2),
        ("a[?x", "SyntaxError: Expected tRbracket, received: tEOF", 4),
        ("a[0", "SyntaxError: Expected tRbracket, received: tEOF", 3),
        ("a[1:2:3:4]", "SyntaxError: Expected tRbracket, received: tNumber", 8),
        ("a[:x]", "SyntaxError: Expected tColon or tNumber, received: tUnquotedIdentifier", 3),
        ("a[1.5]", "SyntaxError: Expected tRbracket, received: tDot", 3),
        ("a[-]", "strconv.Atoi: parsing \"-\": invalid syntax", 2),
        ("a[99999999999999999999]", "strconv.Atoi: parsing \"99999999999999999999\": value out of range", 2),
        ("a.b(", "SyntaxError: Incomplete expression", 4),
        ("a.'x'", "SyntaxError: Expected identifier, lbracket, or lbrace", 2),
        ("nested[].[]", "SyntaxError: Expected identifier, lbracket, or lbrace", 9),
        ("\"abs\"(n)", "SyntaxError: Can't have quoted identifier as function name.", 5),
        ("'abs'(n)", "SyntaxError: Invalid token: tLparen", 5),
        ("(abs)(n)", "SyntaxError: Invalid token: tLparen", 5),
        ("abs(n)(n)", "SyntaxError: Invalid token: tLparen", 6),
    ] {
        let error = refused(text);
        assert_eq!(
            (error.original.as_deref().unwrap_or(&error.message), error.offset),
            (message, offset),
            "{text}"
        );
    }
    for text in ["`abc`", "`'a'`", "`01`", "``", "\"\\x\""] {
        assert!(refused(text).original.is_none(), "{text}");
    }
}

#[test]
fn a_missing_comma_is_a_divergence() {
    for text in ["join(',' nums)", "{a: n b: s}", "join(&a b)"] {
        let accepted = Expression::parse(text).unwrap();
        assert!(accepted.divergences.contains(Divergence::MissingComma), "{text}");
    }
    for text in ["join(',', nums)", "abs(n,)", "{a: n, b: s}"] {
        assert!(Expression::parse(text).unwrap().divergences.is_empty(), "{text}");
    }
}

#[test]
fn expressions_that_are_too_long_or_too_deep_are_refused() {
    let long = format!("'{}'", "x".repeat(MAX_EXPRESSION_BYTES));
    assert_eq!(refused(&long).message, "longer than 65536 bytes");
    for (open, inner, close) in [
        ("(", "a", ")"),
        ("[", "a", "]"),
        ("{a:", "a", "}"),
        ("!", "a", ""),
        ("abs(", "a", ")"),
        ("map(&", "a", ",a)"),
        ("a[?", "a", "]"),
        ("", "a", "[]"),
        ("", "a", "[*]"),
        ("", "a", ".*"),
        ("", "a", "[?a]"),
        ("", "a", " == a"),
        ("`[", "1", "]`"),
    ] {
        let nested = |depth| format!("{}{inner}{}", open.repeat(depth), close.repeat(depth));
        let deep = if open == "`[" {
            format!("`{}{}`", "[".repeat(10_000), "]".repeat(10_000))
        } else {
            nested(if open.len() + close.len() > 5 { 8_000 } else { 10_000 })
        };
        let error = refused(&deep);
        assert!(error.message.contains("nested deeper than 256 levels"), "{open}{close}: {error}");
        if open != "`[" {
            assert!(Expression::parse(&nested(120)).is_ok(), "{open}{close}");
        }
    }
}

#[test]
fn chains_of_one_operator_are_not_deep() {
    for joint in [".a", "[0]", " | a", " || a", " && a"] {
        let text = format!("a{}", joint.repeat(5_000));
        assert!(Expression::parse(&text).is_ok(), "{joint}");
    }
}
