//! Makes `examples/data/products.csv` and `examples/data/order-lines.csv`, the orders of `decrement_stock --demo`: an
//! invented shop, in the columns of a well-known sample shop so that its files can take their place. The same bytes every
//! time; `cargo run --example make_demo_orders` writes them anew, into another folder when one is given.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;

const SEED: u64 = 0x0cc5_70c4;
const ORDERS: u64 = 240;

/// Name, package, category, price in cents, stock. Every order that names one without stock is refused, however often the
/// stock is multiplied; the others are scarce when it is not.
const PRODUCTS: [(&str, &str, u32, u32, u32); 24] = [
    ("Harbour Dusk Tea", "20 bags x 12", 1, 1_450, 64),
    ("Copper Kettle Coffee", "500 g bag", 1, 2_190, 90),
    ("Foxglove Lemonade", "24 x 33 cl", 1, 1_780, 41),
    ("Old Mill Cider Vinegar", "6 x 75 cl", 2, 1_320, 37),
    ("Pepper of the Seven Hills", "40 jars", 2, 3_600, 0),
    ("Slate Island Salt", "12 x 1 kg", 2, 960, 120),
    ("Bramble and Birch Jam", "12 x 340 g", 2, 2_740, 55),
    ("Marigold Honey", "10 x 500 g", 2, 4_150, 28),
    ("Lantern Shortbread", "16 tins", 3, 1_980, 73),
    ("Cinder Toffee", "30 x 100 g", 3, 1_240, 66),
    ("Midnight Nougat", "20 boxes", 3, 2_860, 19),
    ("Windfall Apple Rings", "25 x 80 g", 3, 1_530, 84),
    ("Blue Barn Cheddar", "8 wheels", 4, 5_220, 22),
    ("Goat Track Cheese", "24 x 150 g", 4, 3_340, 31),
    ("Cloudberry Skyr", "36 x 170 g", 4, 2_050, 47),
    ("Ferryman's Rye", "10 loaves", 5, 1_110, 58),
    ("Stonebeck Oats", "12 x 750 g", 5, 1_290, 102),
    ("Hollow Tree Noodles", "20 x 400 g", 5, 1_670, 76),
    ("Smoked Tideway Trout", "12 x 200 g", 6, 4_480, 17),
    ("Lighthouse Sardines", "48 tins", 6, 2_330, 95),
    ("Kelp Crisps, Salted", "30 x 60 g", 6, 1_850, 0),
    ("Walnut \"Windmill\" Oil", "6 x 25 cl", 7, 3_910, 26),
    ("Dried Wharf Mushrooms", "50 x 30 g", 7, 4_760, 33),
    ("Garden Wall Pickles", "12 x 650 g", 7, 1_590, 61),
];

/// SplitMix64: a generator of a crate may change its numbers from one version to the next, and with them the files.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from nought to just below the limit.
    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

fn products() -> String {
    let mut file = String::from(
        "productID,productName,supplierID,categoryID,quantityPerUnit,unitPrice,unitsInStock,\
         unitsOnOrder,reorderLevel,discontinued\n",
    );
    for (id, (name, package, category, cents, stock)) in (1..).zip(PRODUCTS) {
        let name = if name.contains([',', '"']) {
            format!("\"{}\"", name.replace('"', "\"\""))
        } else {
            name.to_owned()
        };
        let supplier = category + 3 * (id % 2);
        let gone = u8::from(stock == 0);
        // Writing into a String cannot fail.
        let _ = writeln!(
            file,
            "{id},{name},{supplier},{category},{package},{},{stock},0,10,{gone}",
            money(cents)
        );
    }
    file
}

fn order_lines() -> String {
    let mut random = Random(SEED);
    let mut file = String::from("orderID,productID,unitPrice,quantity,discount\n");
    for order in (5_001..).take(ORDERS as usize) {
        let lines = 1 + random.below(4);
        let mut named = BTreeSet::new();
        for _ in 0..lines {
            // Of two draws the lower: the first products are what everybody wants, so that orders meet.
            let count = PRODUCTS.len() as u64;
            let index = random.below(count).min(random.below(count)) as usize;
            if !named.insert(index) {
                continue;
            }
            let quantity = 1 + random.below(9);
            let discount = ["0", "0", "0", "0.05", "0.1"][random.below(5) as usize];
            let cents = money(PRODUCTS[index].3);
            let _ = writeln!(file, "{order},{},{cents},{quantity},{discount}", index + 1);
        }
    }
    file
}

fn money(cents: u32) -> String {
    format!("{}.{:02}", cents / 100, cents % 100)
}

fn main() -> std::io::Result<()> {
    let folder = std::env::args_os().nth(1).map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("examples/data"),
        PathBuf::from,
    );
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join("products.csv"), products())?;
    std::fs::write(folder.join("order-lines.csv"), order_lines())
}
