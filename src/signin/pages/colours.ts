/** Colours of the pages: those of the instance, with readable text on them. */
export interface PageColours {
  readonly brand: string
  /** Of text on the brand colour. */
  readonly onBrand: string
  /** Null: white, or black for people who prefer dark mode. */
  readonly background: string | null
  readonly onBackground: string
}

const standardBrand = '#1f5fae'
const [dark, light] = ['#14181f', '#ffffff'] as const

/** Accepts `#rrggbb` only: any other stored value is ignored. */
export function pageColours(brand: string, background: string): PageColours {
  const own = isColour(brand) ? brand : standardBrand
  const behind = isColour(background) ? background : null
  return { brand: own, onBrand: readableOn(own), background: behind, onBackground: readableOn(behind ?? light) }
}

function isColour(text: string): boolean {
  return /^#[0-9a-f]{6}$/i.test(text)
}

/** Dark or light text, whichever has more contrast. @see WCAG 2.2, relative luminance */
function readableOn(colour: string): string {
  const of = luminance(colour)
  return (of + 0.05) / (luminance(dark) + 0.05) > (luminance(light) + 0.05) / (of + 0.05) ? dark : light
}

function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(colour.slice(at, at + 2), 16) / 255
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}
