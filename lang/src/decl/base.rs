//! `from`: an image or a parent, exactly one.

use super::{Base, Fields, Prebuild, Reader};
use crate::code;
use crate::diag::Diagnostic;
use crate::graph::ImageRef;
use crate::image;
use crate::tree::Node;
use crate::value;

impl Reader<'_> {
    pub(super) fn from(&mut self, prebuild: &mut Prebuild, node: &Node) {
        if matches!(prebuild.base, Some(Base::Hidden { .. })) {
            prebuild.base = None;
        }
        if let Some(first) = &prebuild.base {
            let message = format!("`{}` cannot start from two things", prebuild.name.value);
            self.found.push(
                Diagnostic::error(code::TWO_BASES, node.span, message, "a second `from`")
                    .and(first.at(), "the first")
                    .help("delete one, or chain: a prebuild that starts from another"),
            );
        }
        let base = self.base(node).unwrap_or(Base::Faulty { at: node.span });
        prebuild.base.get_or_insert(base);
    }

    fn base(&mut self, node: &Node) -> Option<Base> {
        let fields = Fields(node);
        let at = node.span;
        match (node.arguments.first(), fields.value("prebuild")) {
            (Some(image), Some(parent)) => {
                let message = "cannot start from both an image and a prebuild";
                self.found.push(
                    Diagnostic::error(code::TWO_BASES, image.span, message, "an image")
                        .and(parent.span, "a prebuild")
                        .help("delete one"),
                );
                None
            }
            (None, None) => {
                let message = "`from` needs an image, or prebuild=NAME";
                self.found.push(
                    Diagnostic::error(code::WRONG_ARGUMENTS, node.head(), message, "from what?")
                        .help("such as: from dev-base"),
                );
                None
            }
            (None, Some(_)) => {
                self.no_platform(node);
                Some(Base::Parent {
                    name: fields.property("prebuild")?,
                    at,
                })
            }
            (Some(_), None) => {
                let platform = fields.property("platform");
                let platform = platform.filter(|p| self.take(p, value::platform).is_some());
                let text = fields.argument(0)?;
                let image = match self.take(&text, image::parse)? {
                    ImageRef::Layout(path) => ImageRef::Layout(self.on_disk(&path, text.span)),
                    ImageRef::Archive(path) => ImageRef::Archive(self.on_disk(&path, text.span)),
                    image => image,
                };
                let image = text.map(|_| image);
                Some(Base::Image {
                    image,
                    platform,
                    at,
                })
            }
        }
    }

    /// A platform is inherited, so it cannot be restated.
    fn no_platform(&mut self, node: &Node) {
        if let Some(platform) = node.properties.iter().find(|p| p.key.value == "platform") {
            let message = "`platform` is the parent's";
            self.found.push(
                Diagnostic::error(
                    code::UNKNOWN_PROPERTY,
                    platform.span(),
                    message,
                    "inherited",
                )
                .help("state it where the chain starts, beside the image"),
            );
        }
    }
}
