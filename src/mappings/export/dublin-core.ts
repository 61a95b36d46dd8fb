/** Objects as elements of Dublin Core: by the mapping for the object, else by the names of its columns. */
import { lookup } from 'mime-types'
import type { Model } from '../../datamodel/model.ts'
import { fileLists, linkedAt, type ObjectTree } from '../../objects/service.ts'
import type { Queryable } from '../../platform/postgres/db.ts'
import { tagsOf } from '../check.ts'
import { type DcElement, type DublinCore, dcElements, elementOf } from '../dublin-core.ts'
import { isForType, poolOf, type SettingsDeps, standardMapping } from '../effective.ts'
import type { Mapping } from '../model.ts'
import { pathByName } from '../paths.ts'
import { fieldsOf } from '../profiles.ts'
import type { MappingService } from '../service.ts'
import { fieldTexts } from './field-texts.ts'
import { type Text, textsAt } from './values.ts'

type Wire = Readonly<Record<string, unknown>>

export interface DublinCoreDeps extends SettingsDeps {
  readonly db: Queryable
  readonly datamodel: { current(): Model }
  readonly mappings: Pick<MappingService, 'profile' | 'usableFor'>
  /** Database languages, first one first. */
  readonly languages: () => readonly string[]
  /** The address of an object, by its uuid; null: it has none. */
  readonly linkOf: (uuid: string) => string | null
}

const ownProfile = 'dc.yml'

export function createDublinCore(deps: DublinCoreDeps) {
  const fields = fieldsOf(
    deps.mappings.profile(ownProfile) ?? { profile: ownProfile, displayname: {}, type: {}, xmlBase: null, tabs: [] },
  )
  const namesOf = (element: DcElement): readonly string[] => fields.get(element)?.columns ?? []

  return async (): Promise<DublinCore> => {
    const found = await deps.mappings.usableFor(deps.db, 'dc_export')
    const mappings = new Map(found.map((mapping) => [mapping.id, mapping]))
    return {
      readsLinked: found.some(readsLinked),
      valuesOf(tree) {
        const { table, wire } = tree
        const said = new Map(dcElements.map((element) => [element, [] as Text[]]))
        const add = (element: DcElement, texts: readonly Text[]): void => void said.get(element)?.push(...texts)
        const id = standardMapping(deps, 'dublinCore', { objecttype: table.id, pool: poolOf(table, wire) })
        const mapping = id === null ? undefined : mappings.get(id)
        if (mapping && isForType(mapping, table.id)) byMapping(mapping, tree, add)
        else byNames(tree, add)
        complete(wire, said, add)
        return dcElements.flatMap((element) =>
          distinct(said.get(element) ?? []).map((text) => ({ element, text: inOrder(text, deps.languages()) })),
        )
      },
    }
  }

  type Add = (element: DcElement, texts: readonly Text[]) => void

  function byMapping(mapping: Mapping, tree: ObjectTree, add: Add): void {
    const profile = deps.mappings.profile(mapping.profile)
    const known = profile ? fieldsOf(profile) : new Map()
    const address = deps.linkOf(`${tree.wire._uuid}`)
    const model = deps.datamodel.current()
    const context = { mapping, tree, model, languages: deps.languages(), address, to: '/' }
    for (const field of mapping.fields) {
      const own = known.get(field.name)
      const texts = (fieldTexts(context, field, own) ?? []).filter((text) => text !== '')
      for (const { path } of tagsOf(field, own).exports) {
        const element = elementOf(path)
        if (element !== null) add(element, texts)
      }
    }
  }

  function byNames(tree: ObjectTree, add: Add): void {
    for (const element of dcElements) {
      const path = pathByName(tree.table, namesOf(element))
      if (!path) continue
      const linked = linkedAt(tree, path).flatMap(({ wire }) => titleOf(wire))
      add(element, path.link ? linked : textsAt(tree, path, deps.languages(), '/'))
    }
    const files = fileLists(tree.fields).flatMap((list) => list.files.map(({ wire }) => wire))
    add('type', [...files.flatMap(({ class: kind }) => types[`${kind}`] ?? []), tree.table.nameLocalized])
    add(
      'format',
      files.flatMap(({ extension }) => lookup(`${extension}`) || []),
    )
  }

  /** A record has a title, and the identifier of its object. */
  function complete(object: Wire, said: ReadonlyMap<DcElement, readonly Text[]>, add: Add): void {
    if (said.get('title')?.length === 0) add('title', titleOf(object))
    const { _uuid: uuid } = object
    if (typeof uuid !== 'string') return
    const link = deps.linkOf(uuid)
    add('identifier', [...(link === null ? [] : [link]), `urn:uuid:${uuid}`])
  }
}

function readsLinked({ fields }: Mapping): boolean {
  return fields.some(({ sources }) =>
    sources.some(
      (source) => source.kind === 'field' && source.path.columns !== '_uuid' && source.path.columns.length > 1,
    ),
  )
}

/** The vocabulary of the Dublin Core Metadata Initiative, by the classes of files. */
const types: Readonly<Record<string, string>> = {
  image: 'Image',
  vector2d: 'Image',
  video: 'MovingImage',
  audio: 'Sound',
  office: 'Text',
}

function titleOf({ _standard: standard }: Wire): readonly Text[] {
  const { text } = ((standard as Wire | undefined)?.['1'] ?? {}) as { readonly text?: Readonly<Record<string, string>> }
  const said = Object.entries(text ?? {}).filter(([, one]) => one !== '')
  return said.length === 0 ? [] : [Object.fromEntries(said)]
}

/** Texts in several languages, that of the best one first. */
function inOrder(text: Text, languages: readonly string[]): Text {
  if (typeof text === 'string') return text
  const best = languages.filter((language) => text[language] !== undefined)
  const others = Object.keys(text).filter((language) => !languages.includes(language))
  return Object.fromEntries([...best, ...others].map((language) => [language, text[language] ?? '']))
}

function distinct(texts: readonly Text[]): readonly Text[] {
  const seen = new Map(texts.map((text) => [JSON.stringify(text), text]))
  return [...seen.values()].filter((text) => typeof text !== 'string' || text !== '')
}
