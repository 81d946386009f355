//! The attribute `table` of a type in a scenario: what an experiment file calls each field, its
//! unit and its range, written once beside the field.
//!
//! ```ignore
//! #[table]
//! #[derive(Serialize, Deserialize)]
//! pub struct Link {
//!     /// One-way propagation.
//!     #[file(key = "delay", unit = "time", least = 0, most = 1_000_000_000_000)]
//!     pub delay_ps: u64,
//! }
//! ```
//!
//! From it come the field's entries in the JSON Schema (`x-key`, `x-unit`, `minimum`, `maximum`) and
//! an implementation of `Checked`, which visits every field of a value with its path: numbers are
//! compared with their range, tables are checked likewise.
//!
//! - `key`: the file's key, if it is not the field's name; one of several is written `delay|length`,
//!   none is empty. `unit`: how the file writes the value (`time`, `octets`, …).
//! - `least`, `most`: the range of an integer, both included.
//! - `items`: the most entries of a list.
//! - `skip`: the field is checked with others, by hand.
//! - `#[table(together)]`: after the fields, `Self::check_together(&self, faults)` is called.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote};
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, Data, DeriveInput, Fields, LitStr, Token, parse_macro_input};

/// See the crate.
#[proc_macro_attribute]
pub fn table(
    options: proc_macro::TokenStream,
    item: proc_macro::TokenStream,
) -> proc_macro::TokenStream {
    let options = parse_macro_input!(options as Options);
    let mut item = parse_macro_input!(item as DeriveInput);
    match expanded(&options, &mut item) {
        Ok(tokens) => tokens.into(),
        Err(error) => error.to_compile_error().into(),
    }
}

/// Words in the brackets of `table`.
struct Options {
    is_together: bool,
}

impl Parse for Options {
    fn parse(input: ParseStream) -> syn::Result<Self> {
        if input.is_empty() {
            return Ok(Self { is_together: false });
        }
        let word: Ident = input.parse()?;
        if word == "together" && input.is_empty() {
            return Ok(Self { is_together: true });
        }
        Err(syn::Error::new(word.span(), "expected `together` or nothing"))
    }
}

/// What `file` says of a field.
#[derive(Default)]
struct Field {
    key: Option<LitStr>,
    unit: Option<LitStr>,
    least: Option<TokenStream>,
    most: Option<TokenStream>,
    items: Option<TokenStream>,
    is_skipped: bool,
}

impl Parse for Field {
    fn parse(input: ParseStream) -> syn::Result<Self> {
        let mut field = Self::default();
        while !input.is_empty() {
            let word: Ident = input.parse()?;
            if word == "skip" {
                field.is_skipped = true;
            } else {
                input.parse::<Token![=]>()?;
                match word.to_string().as_str() {
                    "key" => field.key = Some(input.parse()?),
                    "unit" => field.unit = Some(input.parse()?),
                    "least" => field.least = Some(until_comma(input)?),
                    "most" => field.most = Some(until_comma(input)?),
                    "items" => field.items = Some(until_comma(input)?),
                    _ => {
                        let allowed = "expected `key`, `unit`, `least`, `most`, `items` or `skip`";
                        return Err(syn::Error::new(word.span(), allowed));
                    }
                }
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        if field.least.is_some() != field.most.is_some() {
            return Err(input.error("expected `least` and `most` together"));
        }
        Ok(field)
    }
}

fn until_comma(input: ParseStream) -> syn::Result<TokenStream> {
    let mut tokens = TokenStream::new();
    while !input.is_empty() && !input.peek(Token![,]) {
        tokens.extend([input.parse::<proc_macro2::TokenTree>()?]);
    }
    Ok(tokens)
}

impl Field {
    /// Take the attribute `file` off, and put the entries of the schema in its stead.
    fn take(attributes: &mut Vec<Attribute>) -> syn::Result<Self> {
        let Some(at) = attributes.iter().position(|each| each.path().is_ident("file")) else {
            return Ok(Self::default());
        };
        let field: Self = attributes.remove(at).parse_args()?;
        let entries = field.entries();
        if !entries.is_empty() {
            attributes.push(syn::parse_quote!(
                #[cfg_attr(feature = "schema", schemars(extend(#(#entries),*)))]
            ));
        }
        Ok(field)
    }

    fn entries(&self) -> Vec<TokenStream> {
        let named = [("x-key", &self.key), ("x-unit", &self.unit)];
        let texts =
            named.iter().filter_map(|(name, text)| text.as_ref().map(|text| quote!(#name = #text)));
        let numbers =
            [("minimum", &self.least), ("maximum", &self.most), ("maxItems", &self.items)];
        let numbers = numbers.iter().filter_map(|(name, number)| {
            number.as_ref().map(|number| quote!(#name = crate::fault::json_integer(#number)))
        });
        texts.chain(numbers).collect()
    }

    /// Check the value at `reference`, which stands under `name`.
    fn check(&self, name: &str, reference: &TokenStream) -> TokenStream {
        match (&self.least, &self.most) {
            _ if self.is_skipped => quote!(),
            (Some(least), Some(most)) => {
                quote!(faults.range(#name, *#reference, #least, #most);)
            }
            _ => {
                let count = self.items.as_ref().map(
                    |most| quote!(crate::fault::check_count(#reference.len(), #most, faults);),
                );
                quote! {
                    faults.within(#name, |faults| {
                        #count
                        crate::fault::Checked::check(#reference, faults);
                    });
                }
            }
        }
    }
}

/// Checks of the fields, which are bound to their names.
fn checks_of(fields: &mut Fields) -> syn::Result<(Vec<Ident>, Vec<TokenStream>)> {
    let mut names = Vec::new();
    let mut checks = Vec::new();
    for field in fields.iter_mut() {
        let own = Field::take(&mut field.attrs)?;
        let name = field.ident.clone().expect("fields with names");
        checks.push(own.check(&name.to_string(), &quote!(#name)));
        names.push(name);
    }
    Ok((names, checks))
}

fn expanded(options: &Options, item: &mut DeriveInput) -> syn::Result<TokenStream> {
    let name = item.ident.clone();
    let serde = Serde::of(&item.attrs)?;
    let mut arms = Vec::new();
    match &mut item.data {
        Data::Struct(data) => {
            let (names, checks) = checks_of(&mut data.fields)?;
            arms.push(quote!(Self { #(#names),* } => { #(#checks)* }));
        }
        Data::Enum(data) => {
            for variant in &mut data.variants {
                let own = Field::take(&mut variant.attrs)?;
                let label = serde.label(&variant.ident.to_string());
                let ident = &variant.ident;
                arms.push(match &mut variant.fields {
                    Fields::Unit => quote!(Self::#ident => {}),
                    Fields::Unnamed(_) => {
                        let check = own.check(&label, &quote!(inner));
                        quote!(Self::#ident(inner) => { #check })
                    }
                    fields @ Fields::Named(_) => {
                        let (names, checks) = checks_of(fields)?;
                        if serde.is_tagged {
                            quote!(Self::#ident { #(#names),* } => { #(#checks)* })
                        } else {
                            quote!(Self::#ident { #(#names),* } => {
                                faults.within(#label, |faults| { #(#checks)* });
                            })
                        }
                    }
                });
            }
        }
        Data::Union(_) => {
            return Err(syn::Error::new(Span::call_site(), "expected a struct or an enum"));
        }
    }
    let together = options.is_together.then(|| {
        let check = format_ident!("check_together");
        quote!(self.#check(faults);)
    });
    Ok(quote! {
        #item

        impl crate::fault::Checked for #name {
            #[allow(unused_variables, clippy::pedantic)]
            fn check(&self, faults: &mut crate::fault::Faults) {
                match self { #(#arms)* }
                #together
            }
        }
    })
}

/// How serde names the variants of an enum.
#[derive(Default)]
struct Serde {
    rename_all: String,
    is_tagged: bool,
}

impl Serde {
    fn of(attributes: &[Attribute]) -> syn::Result<Self> {
        let mut serde = Self::default();
        for attribute in attributes.iter().filter(|each| each.path().is_ident("serde")) {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("rename_all") {
                    serde.rename_all = meta.value()?.parse::<LitStr>()?.value();
                } else if meta.path.is_ident("tag") {
                    serde.is_tagged = true;
                    meta.value()?.parse::<LitStr>()?;
                }
                Ok(())
            })?;
        }
        Ok(serde)
    }

    /// A variant's name in JSON.
    fn label(&self, variant: &str) -> String {
        let mark = match self.rename_all.as_str() {
            "snake_case" => "_",
            "kebab-case" => "-",
            _ => return variant.to_owned(),
        };
        let mut label = String::new();
        for (index, letter) in variant.char_indices() {
            if letter.is_uppercase() && index > 0 {
                label.push_str(mark);
            }
            label.extend(letter.to_lowercase());
        }
        label
    }
}
