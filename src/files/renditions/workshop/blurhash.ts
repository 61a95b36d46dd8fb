/** The 83 digits (blurha.sh, version 1 of the format). */
const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz#$%*+,-.:;=?@[]^_{|}~'

const across = 4
const down = 3

/** A picture in thirty letters, from a few hundred RGB pixels: a placeholder until the picture is loaded. */
export function blurhash(pixels: Uint8Array, width: number, height: number): string {
  const linear = Float64Array.from(pixels, (byte) => linearOf[byte] ?? 0)
  const factors: [number, number, number][] = []
  for (let y = 0; y < down; y++) for (let x = 0; x < across; x++) factors.push(factor(linear, width, height, x, y))
  const [average, ...rest] = factors as [[number, number, number], ...[number, number, number][]]
  const largest = Math.max(...rest.flat().map(Math.abs))
  const quantised = Math.max(0, Math.min(82, Math.floor(largest * 166 - 0.5)))
  const scale = (quantised + 1) / 166
  return [
    inDigits(across - 1 + (down - 1) * 9, 1),
    inDigits(quantised, 1),
    inDigits((toByte(average[0]) << 16) + (toByte(average[1]) << 8) + toByte(average[2]), 4),
    ...rest.map(([r, g, b]) => inDigits(19 * 19 * step(r / scale) + 19 * step(g / scale) + step(b / scale), 2)),
  ].join('')
}

function factor(linear: Float64Array, width: number, height: number, x: number, y: number): [number, number, number] {
  let [red, green, blue] = [0, 0, 0]
  const horizontal = Float64Array.from({ length: width }, (_, i) => Math.cos((Math.PI * x * i) / width))
  for (let j = 0; j < height; j++) {
    const vertical = Math.cos((Math.PI * y * j) / height)
    for (let i = 0; i < width; i++) {
      const basis = vertical * (horizontal[i] ?? 0)
      const at = 3 * (j * width + i)
      red += basis * (linear[at] ?? 0)
      green += basis * (linear[at + 1] ?? 0)
      blue += basis * (linear[at + 2] ?? 0)
    }
  }
  const scale = (x === 0 && y === 0 ? 1 : 2) / (width * height)
  return [red * scale, green * scale, blue * scale]
}

function step(value: number): number {
  const root = Math.sign(value) * Math.sqrt(Math.abs(value))
  return Math.max(0, Math.min(18, Math.floor(root * 9 + 9.5)))
}

/** Linear light of each byte value. */
const linearOf = Array.from({ length: 256 }, (_, byte) => toLinear(byte))

function toLinear(byte: number): number {
  const value = byte / 255
  return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
}

function toByte(linear: number): number {
  const value = Math.max(0, Math.min(1, linear))
  const curved = value <= 0.0031308 ? value * 12.92 : 1.055 * value ** (1 / 2.4) - 0.055
  return Math.trunc(curved * 255 + 0.5)
}

function inDigits(value: number, length: number): string {
  let text = ''
  for (let place = length - 1; place >= 0; place--) text += digits[Math.floor(value / 83 ** place) % 83]
  return text
}
