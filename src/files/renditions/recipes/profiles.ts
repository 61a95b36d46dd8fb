import type { Readable } from 'node:stream'
import { type BaseConfig, namesProfile } from '../../../config/service.ts'
import { type AppError, badRequest } from '../../../platform/errors.ts'
import type { Queryable } from '../../../platform/postgres/db.ts'
import type { BlobStore } from '../../blobs/blob-store.ts'
import { originalOf } from '../../model.ts'
import { readFiles } from '../../records/store.ts'
import type { Recipe, RenditionSettings } from '../model.ts'
import { localPath, type WorkFolder } from '../sources/sources.ts'
import { CannotMake } from '../workshop/failure.ts'
import type { ColourProfile } from '../workshop/tasks.ts'
import type { WithRecipes } from './added.ts'
import { clashOf } from './colours.ts'

type ProfileConfig = Pick<BaseConfig, 'produce_config' | 'colorprofiles'>
type Preset = BaseConfig['custom_version_presets']['value']['presets'][number]

interface Reading {
  readonly db: Queryable
  readonly storeOf: (locationId: number) => BlobStore
}

/** The profiles of the service, with their names in libvips. */
const known: Readonly<Record<string, 'srgb' | 'p3' | 'cmyk'>> = {
  'sRGB Profile': 'srgb',
  'Display P3': 'p3',
  'Generic CMYK Profile': 'cmyk',
}

const settingsOf = new WeakMap<object, RenditionSettings>()

/**
 * Recipes with own profiles named by their file, as `#17`: renditions become outdated with another file, not with another
 * name.
 */
export function withProfiles({ produce_config, colorprofiles }: WithRecipes<ProfileConfig>): RenditionSettings {
  const { value } = produce_config
  if (colorprofiles.profiles.length === 0) return value
  const found = settingsOf.get(colorprofiles)
  if (found && sources.get(found) === value) return found
  const own = new Map(colorprofiles.profiles.map(({ profilename, profile }) => [profilename, `#${profile}`]))
  const classes = Object.fromEntries(
    Object.entries(value.classes).map(([kind, one]) => [
      kind,
      {
        ...one,
        versions: one.versions.map((recipe) => ({
          ...recipe,
          colorprofile: own.get(recipe.colorprofile) ?? recipe.colorprofile,
        })),
      },
    ]),
  ) as unknown as RenditionSettings['classes']
  const made = { ...value, classes }
  settingsOf.set(colorprofiles, made)
  sources.set(made, value)
  return made
}

/** The settings from which settings with profiles were made. */
const sources = new WeakMap<object, RenditionSettings>()

/** A profile in the form for the workshop, with a path where it is a file. */
export async function profileFor(name: string, { db, storeOf }: Reading, folder: WorkFolder): Promise<ColourProfile> {
  if (name === 'srgb' || name === 'keep') return name
  const built = known[name]
  if (built) return { profile: built, space: built === 'cmyk' ? 'CMYK' : 'RGB' }
  const [file] = await readFiles(db, /^#\d+$/.test(name) ? [Number(name.slice(1))] : [])
  if (!file) throw new CannotMake('unreadable', `there is no profile ${name}`)
  const original = originalOf(file)
  const store = storeOf(original.locationId)
  const { space } = await readHeader(store, original)
  return { profile: await localPath(original, store, folder), space }
}

/** The file of a profile by its name; undefined: there is no profile of that name. */
export function profileNamed(name: string, { profiles }: BaseConfig['colorprofiles']): string | undefined {
  if (Object.hasOwn(known, name)) return name
  const own = profiles.find(({ profilename }) => profilename === name)
  return own && `#${own.profile}`
}

/**
 * Checks that all profiles named by recipes and presets exist, and that all own profiles are valid.
 * @throws {AppError} `ServerGeneric`
 */
export async function checkProfiles(
  reading: Reading,
  config: ProfileConfig & Pick<BaseConfig, 'custom_version_presets'>,
): Promise<readonly number[]> {
  const { profiles } = config.colorprofiles
  const files = await readFiles(
    reading.db,
    profiles.map(({ profile }) => profile),
  )
  const spaces = new Map<string, ColourSpace>()
  for (const [index, { profilename, profile }] of profiles.entries()) {
    const path = `system/config/colorprofiles/profiles/${index}/profile`
    const file = files.find(({ id }) => id === profile)
    if (!file) throw wrong(path, `there is no file ${profile}`)
    const original = originalOf(file)
    const { space } = await readHeader(reading.storeOf(original.locationId), original).catch((error: Error) => {
      throw wrong(path, error.message)
    })
    spaces.set(profilename, space)
  }
  for (const [kind, { versions }] of Object.entries(config.produce_config.value.classes)) {
    for (const [index, recipe] of versions.entries()) {
      const broken = misfit(recipe, spaces)
      if (broken)
        throw wrong(`system/config/produce_config/value/classes/${kind}/versions/${index}/colorprofile`, broken)
    }
  }
  for (const [index, { custom }] of config.custom_version_presets.value.presets.entries()) {
    const broken = clashIn(custom, spaces)
    if (broken) {
      throw wrong(`system/config/custom_version_presets/value/presets/${index}/custom/${broken.of}`, broken.reason)
    }
  }
  return [...new Set(files.map(({ id }) => id))]
}

function clashIn(
  { colorspace, colorprofile, format }: Preset['custom'],
  own: ReadonlyMap<string, ColourSpace>,
): ReturnType<typeof clashOf> {
  if (!namesProfile(colorprofile)) return clashOf(colorspace, undefined, format)
  const space = spaceOf(colorprofile, own)
  if (!space) return { of: 'colorprofile', reason: `there is no profile ${colorprofile}` }
  return clashOf(colorspace, space, format)
}

function spaceOf(name: string, own: ReadonlyMap<string, ColourSpace>): ColourSpace | undefined {
  if (!Object.hasOwn(known, name)) return own.get(name)
  return known[name] === 'cmyk' ? 'CMYK' : 'RGB'
}

function misfit({ colorprofile, recipe, format }: Recipe, own: ReadonlyMap<string, ColourSpace>): string | null {
  if (colorprofile === 'srgb' || colorprofile === 'keep') return null
  const space = spaceOf(colorprofile, own)
  if (!space) return `there is no profile ${colorprofile}`
  if (recipe !== 'image') return 'only recipes of the kind image have a profile'
  if (space === 'CMYK' && format !== 'jpg') return 'only the format jpg has CMYK'
  return null
}

type ColourSpace = 'RGB' | 'CMYK' | 'GRAY'

const spacesOfHeader: Readonly<Record<string, ColourSpace>> = { 'RGB ': 'RGB', CMYK: 'CMYK', GRAY: 'GRAY' }
const mostBytes = 10_000_000

/** Reads the header of a profile (ICC.1, 7.2). @throws {Error} saying why it is not one. */
async function readHeader(
  store: Pick<BlobStore, 'read'>,
  { sha256, size }: { readonly sha256: string; readonly size: number },
): Promise<{ readonly space: ColourSpace }> {
  if (size < 132 || size > mostBytes) throw new Error('the file is no ICC profile')
  const header = await all(await store.read(sha256, { start: 0, end: 127 }))
  const space = spacesOfHeader[header.toString('latin1', 16, 20)]
  const isDevice = ['mntr', 'prtr', 'scnr', 'spac'].includes(header.toString('latin1', 12, 16))
  if (header.toString('latin1', 36, 40) !== 'acsp' || header.readUInt32BE(0) !== size || !isDevice) {
    throw new Error('the file is no ICC profile of a screen or a printer')
  }
  if (!space) throw new Error('only profiles of RGB, CMYK and grey are taken')
  return { space }
}

async function all(content: Readable): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const part of content) parts.push(part as Buffer)
  return Buffer.concat(parts)
}

function wrong(path: string, reason: string): AppError {
  return badRequest(`${path}: ${reason}`, { path })
}
