import type { ColourProfile, DeriveTask } from '../workshop/tasks.ts'

/** The colours wanted for a picture, as clients send them. */
export interface ColourRequest {
  readonly colorspace: string
  /** Empty or `-`: none. */
  readonly colorprofile: string
}

type Space = Exclude<ColourProfile, string>['space']
type Colours = Pick<DeriveTask, 'colorspace' | 'profile'>

const spaces: Readonly<Record<string, Colours['colorspace']>> = {
  rgb: 'srgb',
  sRGB: 'srgb',
  srgb: 'srgb',
  cmyk: 'cmyk',
  gray: 'gray',
}

/** A colour space and a profile together. */
export function coloursOf(colorspace: string, profile: Colours['profile']): Colours {
  return { colorspace: hasInks(colorspace, profile?.space) ? 'cmyk' : (spaces[colorspace] ?? 'keep'), profile }
}

/** The reason why the space of a profile, or the format, does not fit a colour space; null where all of them fit. */
export function clashOf(
  colorspace: string,
  profile: Space | undefined,
  format: string,
): { readonly of: 'colorspace' | 'colorprofile'; readonly reason: string } | null {
  if (!hasInks(colorspace, profile)) return null
  const asked = spaces[colorspace]
  if ((profile && profile !== 'CMYK') || (asked && asked !== 'cmyk')) {
    return { of: 'colorprofile', reason: 'colorprofile does not go with the colorspace.' }
  }
  if (withInks.has(format)) return null
  return { of: profile ? 'colorprofile' : 'colorspace', reason: `The format ${format} has no CMYK.` }
}

const hasInks = (colorspace: string, profile: Space | undefined): boolean => colorspace === 'cmyk' || profile === 'CMYK'

const withInks: ReadonlySet<string> = new Set(['jpg', 'jpeg', 'tif', 'tiff'])
