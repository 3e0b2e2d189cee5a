//! Drawings as PNG files. The letters come from a bitmap font with the characters of Latin-1
//! and Latin Extended-A, which are those of European languages with Latin letters.

use noto_sans_mono_bitmap::{
    FontWeight, RasterHeight, RasterizedChar, get_raster, get_raster_width,
};
use perfhive_view::drawing::{Drawing, GLYPH, Shape};
use perfhive_view::palette::Rgb;
use tiny_skia::{
    Color, LineCap, LineJoin, Paint, PathBuilder, Pixmap, PremultipliedColorU8, Rect, Stroke,
    StrokeDash, Transform,
};

/// The PNG file of a drawing; `None` for a drawing that is too large or empty.
pub(super) fn encode(drawing: &Drawing) -> Option<Vec<u8>> {
    let mut pixels = Pixmap::new(drawing.width as u32, drawing.height as u32)?;
    pixels.fill(Color::WHITE);
    for shape in &drawing.shapes {
        match shape {
            Shape::Rectangle { x, y, width, height, colour } => {
                if let Some(rectangle) = Rect::from_xywh(*x, *y, *width, *height) {
                    pixels.fill_rect(rectangle, &paint(*colour), Transform::identity(), None);
                }
            }
            Shape::Lines { points, thickness, dashes, colour } => {
                let mut path = PathBuilder::new();
                let mut points = points.iter();
                if let Some((x, y)) = points.next() {
                    path.move_to(*x, *y);
                }
                points.for_each(|(x, y)| path.line_to(*x, *y));
                let stroke = Stroke {
                    width: *thickness,
                    line_cap: LineCap::Round,
                    line_join: LineJoin::Round,
                    dash: StrokeDash::new(dashes.to_vec(), 0.0),
                    ..Stroke::default()
                };
                if let Some(path) = path.finish() {
                    let paint = paint(*colour);
                    pixels.stroke_path(&path, &paint, &stroke, Transform::identity(), None);
                }
            }
            Shape::Text { x, y, text, end, colour } => {
                let wide = text.chars().count() as f32 * GLYPH.0;
                let left = if *end { x - wide } else { *x };
                for (place, character) in text.chars().enumerate() {
                    let left = left + place as f32 * GLYPH.0;
                    letter(&mut pixels, left, y - 12.5, character, *colour);
                }
            }
        }
    }
    pixels.encode_png().ok()
}

/// The letters of a drawing that its PNG file shows as question marks, each once. Control characters do not count.
pub(super) fn lost(drawing: &Drawing) -> String {
    let mut lost = String::new();
    for shape in &drawing.shapes {
        let Shape::Text { text, .. } = shape else { continue };
        for character in text.chars().filter(|c| *c != '…' && !c.is_control()) {
            if raster(character).is_none() && !lost.contains(character) {
                lost.push(character);
            }
        }
    }
    lost
}

fn raster(character: char) -> Option<RasterizedChar> {
    get_raster(character, FontWeight::Regular, RasterHeight::Size16)
}

fn paint((red, green, blue): Rgb) -> Paint<'static> {
    let mut paint = Paint::default();
    paint.set_color_rgba8(red, green, blue, 255);
    paint.anti_alias = true;
    paint
}

/// Draws a letter with its upper left corner at a point; parts outside the picture are left out. A
/// letter that the font lacks is drawn as `?`, and `…` as a full stop.
fn letter(pixels: &mut Pixmap, x: f32, y: f32, character: char, (red, green, blue): Rgb) {
    let character = if character == '…' { '.' } else { character };
    let Some(raster) = raster(character).or_else(|| raster('?')) else { return };
    // The font's letters are a little narrower than the space for a character.
    let indent = (GLYPH.0 as usize).saturating_sub(letter_width()) / 2;
    let (width, height) = (pixels.width() as usize, pixels.height() as usize);
    let pixels = pixels.pixels_mut();
    for (line, row) in raster.rows().enumerate() {
        for (column, ink) in row.iter().enumerate() {
            let at = |from: f32, step: usize| usize::try_from(from.round() as i64 + step as i64);
            let (Ok(column), Ok(line)) = (at(x, column + indent), at(y, line)) else { continue };
            if *ink == 0 || column >= width || line >= height {
                continue;
            }
            let Some(pixel) = pixels.get_mut(line * width + column) else { continue };
            let mix = |under: u8, over: u8| {
                let (under, over, ink) = (u16::from(under), u16::from(over), u16::from(*ink));
                ((under * (255 - ink) + over * ink) / 255) as u8
            };
            let mixed = PremultipliedColorU8::from_rgba(
                mix(pixel.red(), red),
                mix(pixel.green(), green),
                mix(pixel.blue(), blue),
                255,
            );
            *pixel = mixed.unwrap_or(*pixel);
        }
    }
}

fn letter_width() -> usize {
    get_raster_width(FontWeight::Regular, RasterHeight::Size16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drawing_becomes_the_pixels_it_says() {
        let colour = (0, 0, 255);
        let shapes = vec![
            Shape::Rectangle { x: 0.0, y: 0.0, width: 20.0, height: 10.0, colour },
            Shape::Lines {
                points: vec![(0.0, 30.0), (40.0, 30.0)],
                thickness: 3.0,
                dashes: &[],
                colour,
            },
            Shape::Text { x: 40.0, y: 50.0, text: "MŁ…日日".into(), end: true, colour },
        ];
        let drawing = Drawing { width: 40.0, height: 60.0, shapes };
        assert_eq!(lost(&drawing), "日");
        let file = encode(&drawing).unwrap();
        let pixels = Pixmap::decode_png(&file).unwrap();
        let at = |x, y| {
            let pixel = pixels.pixel(x, y).unwrap();
            (pixel.red(), pixel.green(), pixel.blue())
        };
        assert_eq!((at(5, 5), at(30, 5), at(20, 30)), ((0, 0, 255), (255, 255, 255), (0, 0, 255)));
        // There are dark pixels where the letters stand.
        let has_ink = (16..40).any(|x| (38..54).any(|y| at(x, y).0 < 200));
        assert!(has_ink);
        assert!(letter_width() <= GLYPH.0 as usize);
        assert!(encode(&Drawing::default()).is_none());
    }
}
