import { readdir, readFile, stat } from 'node:fs/promises'
import { basename, extname, join } from 'node:path'
import { type Static, Type } from 'typebox'
import { parse } from 'yaml'
import { createChecker } from '../platform/values/checker.ts'
import { readDcElement } from './dublin-core.ts'
import { type ExportTag, type Profile, type ProfileField, strategies } from './model.ts'
import { readExportTag, readSearch, type Tags } from './tags/tags.ts'
import { readElement, structureOf, xmlBases } from './xml/structures.ts'

const closed = { additionalProperties: false } as const
const name = Type.String({ pattern: '^[A-Za-z0-9_.-]{1,100}$' })
const Text = Type.Record(Type.String({ minLength: 2, maxLength: 40 }), Type.String({ maxLength: 1000 }))

/** A profile as written in its file. */
const ProfileFile = Type.Object(
  {
    profile: name,
    displayname: Text,
    profile_type: Type.Object(
      {
        exiftool_import: Type.Optional(Type.Boolean()),
        exiftool_export: Type.Optional(Type.Boolean()),
        exiftool_export_omit_empty: Type.Optional(Type.Boolean()),
        plugins_import: Type.Optional(Type.Boolean()),
        dc_export: Type.Optional(Type.Boolean()),
        xml_export: Type.Optional(Type.Boolean()),
      },
      closed,
    ),
    xml_base: Type.Optional(Type.String({ maxLength: 200 })),
    tabs: Type.Array(
      Type.Object(
        {
          tab: name,
          text: Text,
          custom: Type.Optional(Type.Boolean()),
          fields: Type.Array(
            Type.Object(
              {
                name,
                text: Text,
                strategy_import: Type.Optional(Type.Enum(strategies)),
                import: Type.Optional(Type.Array(Type.String({ maxLength: 200 }), { maxItems: 50 })),
                export: Type.Optional(
                  Type.Array(
                    Type.Object(
                      {
                        path: Type.String({ maxLength: 400 }),
                        list: Type.Optional(Type.Boolean()),
                        l10n: Type.Optional(Type.Boolean()),
                      },
                      closed,
                    ),
                    { maxItems: 50 },
                  ),
                ),
                columns: Type.Optional(Type.Array(Type.String({ maxLength: 100 }), { maxItems: 50 })),
              },
              closed,
            ),
            { maxItems: 1000 },
          ),
        },
        closed,
      ),
      { maxItems: 100 },
    ),
  },
  closed,
)
const checker = createChecker(ProfileFile)

const mostBytes = 1_000_000

let released: Promise<readonly Profile[]> | undefined

/** Profiles of the service, and those of further folders or files. @throws {Error} naming the file and the error. */
export async function loadProfiles(places: readonly string[], tags: Tags): Promise<ReadonlyMap<string, Profile>> {
  // They are part of the release, so a process reads them once.
  released ??= readProfiles(join(import.meta.dirname, 'profiles'), tags)
  const profiles = new Map((await released).map((profile) => [profile.profile, profile]))
  for (const place of places) {
    for (const profile of await readProfiles(place, tags)) {
      if (profiles.has(profile.profile)) throw new Error(`${place}: there is another profile ${profile.profile}`)
      profiles.set(profile.profile, profile)
    }
  }
  return profiles
}

async function readProfiles(place: string, tags: Tags): Promise<readonly Profile[]> {
  const profiles: Profile[] = []
  for (const file of await filesOf(place)) profiles.push(await readProfile(file, tags))
  return profiles
}

async function filesOf(place: string): Promise<readonly string[]> {
  if ((await stat(place)).isFile()) return [place]
  const names = (await readdir(place)).filter((one) => ['.yml', '.yaml'].includes(extname(one)))
  return names.sort().map((one) => join(place, one))
}

async function readProfile(file: string, tags: Tags): Promise<Profile> {
  if ((await stat(file)).size > mostBytes) throw new Error(`${file}: a profile has at most ${mostBytes} bytes`)
  const given = parsed(await readFile(file, 'utf8'), file)
  if (!checker.check(given)) {
    const error = checker.misfit(given)
    // The schema checks unknown members with `false`, which nothing satisfies.
    const problem = error?.message === 'schema is false' ? 'is not known' : (error?.message ?? 'is none')
    throw new Error(`${file}: ${error?.instancePath || 'the profile'} ${problem}`)
  }
  if (given.profile !== basename(file)) throw new Error(`${file}: profile must be the name of the file`)
  const seen = new Set<string>()
  assertType(given, file)
  const target = { type: given.profile_type, xmlBase: given.xml_base ?? null }
  const readTag = (tag: ExportTag): ExportTag => readExport(target, tags, tag, 'export')
  return {
    profile: given.profile,
    displayname: given.displayname,
    ...target,
    tabs: given.tabs.map(({ tab, text, custom = false, fields }) => ({
      tab,
      text,
      custom,
      fields: fields.map((field) => {
        if (seen.has(field.name)) throw new Error(`${file}: two fields are called ${field.name}`)
        seen.add(field.name)
        return fieldOf(field, file, readTag)
      }),
    })),
  }
}

function parsed(text: string, file: string): unknown {
  try {
    return parse(text, { maxAliasCount: 100 })
  } catch (cause) {
    throw new Error(`${file}: ${cause instanceof Error ? cause.message : 'no YAML'}`, { cause })
  }
}

/** @throws {Error} where the types of the profile exclude each other */
function assertType({ profile_type: type, xml_base: base }: Static<typeof ProfileFile>, file: string): void {
  if (type.xml_export !== true && base !== undefined)
    throw new Error(`${file}: xml_base is for profiles with xml_export`)
  if (type.xml_export === true && !structureOf(base ?? null)) {
    throw new Error(`${file}: xml_base must be one of ${xmlBases.join(', ')}`)
  }
  if (type.plugins_import === true && type.exiftool_import !== true)
    throw new Error(`${file}: plugins_import is for profiles with exiftool_import`)
  const kinds = [type.xml_export, type.dc_export, type.exiftool_export || type.exiftool_import]
  if (kinds.filter(Boolean).length > 1) {
    throw new Error(`${file}: a profile is for XML, for Dublin Core or for tags of files`)
  }
}

type FieldInFile = Static<typeof ProfileFile>['tabs'][number]['fields'][number]

function fieldOf(field: FieldInFile, file: string, readTag: (tag: ExportTag) => ExportTag): ProfileField {
  try {
    return {
      name: field.name,
      text: field.text,
      ...(field.strategy_import ? { strategy: field.strategy_import } : {}),
      imports: (field.import ?? []).map((search) => ({ search: readSearch(search, 'import') })),
      exports: (field.export ?? []).map(readTag),
      columns: field.columns ?? [],
    }
  } catch (cause) {
    throw new Error(`${file}: ${field.name}: ${(cause as Error).message}`, { cause })
  }
}

/** Fields of a profile by name. */
export function fieldsOf({ tabs }: Profile): ReadonlyMap<string, ProfileField> {
  return new Map(tabs.flatMap(({ fields }) => fields.map((field) => [field.name, field] as const)))
}

/**
 * The target of a field: an element of Dublin Core or of another XML format, or a tag of files.
 * @throws {AppError} `ServerGeneric`
 */
export function readExport(
  { type, xmlBase }: Pick<Profile, 'type' | 'xmlBase'>,
  tags: Tags,
  tag: ExportTag,
  place: string,
): ExportTag {
  if (type.dc_export) return readDcElement(tag, place)
  const structure = structureOf(xmlBase)
  return structure ? readElement(structure, tag, place) : readExportTag(tags, tag, place)
}
