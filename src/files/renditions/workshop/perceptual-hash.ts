import type { Sharp } from 'sharp'

/** Side of the small grey picture. */
const side = 32
/** Waves that are compared, in each direction: the coarse shapes, which do not change with size or format. */
const waves = 8
/** Waves weaker than this, in shades of grey, may come from compression. */
const faintest = 4
/** With fewer bits, the picture is one colour or a plain gradient, and equal to any other such picture. */
const fewestBits = 6

/**
 * A hash of the look of a picture: which of its coarse waves (discrete cosine transform) are among the stronger half. The
 * mean is left out, so that brightness does not count. Hashes of pictures that look alike differ in few of their 63 bits.
 * Null: it shows too little to be compared.
 */
export async function perceptualHashOf(picture: Sharp): Promise<bigint | null> {
  const { data, info } = await picture
    .autoOrient()
    .flatten({ background: 'white' })
    .resize({ width: side, height: side, fit: 'fill' })
    .greyscale()
    .raw()
    .toBuffer({ resolveWithObject: true })
  const grey = Array.from({ length: side * side }, (_, index) => data[index * info.channels] ?? 0)
  const strengths = wavesOf(grey).slice(1)
  const median = [...strengths].sort((a, b) => a - b)[strengths.length >> 1] ?? 0
  const bits = strengths.map((strength) => strength > Math.max(median, faintest))
  if (bits.filter(Boolean).length < fewestBits) return null
  return bits.reduce((hash, bit) => (hash << 1n) | (bit ? 1n : 0n), 0n)
}

/** The coarsest waves of a square picture, the mean first. */
function wavesOf(grey: readonly number[]): number[] {
  const rows = Array.from({ length: side }, (_, y) => transformed(grey.slice(y * side, (y + 1) * side)))
  const columns = Array.from({ length: waves }, (_, across) => transformed(rows.map((row) => row[across] ?? 0)))
  return Array.from({ length: waves * waves }, (_, at) => columns[at % waves]?.[Math.floor(at / waves)] ?? 0)
}

const cosines = Array.from({ length: waves }, (_, wave) =>
  Array.from({ length: side }, (_, at) => Math.cos((Math.PI * wave * (2 * at + 1)) / (2 * side))),
)

function transformed(line: readonly number[]): number[] {
  return cosines.map((cosine, wave) => {
    const sum = cosine.reduce((total, factor, at) => total + factor * (line[at] ?? 0), 0)
    return sum * Math.sqrt((wave === 0 ? 1 : 2) / side)
  })
}
