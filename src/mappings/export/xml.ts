/** The values of objects in an XML format, by the mappings of its profile. */
import type { Model } from '../../datamodel/model.ts'
import type { ObjectTree } from '../../objects/service.ts'
import { badRequest } from '../../platform/errors.ts'
import type { Queryable } from '../../platform/postgres/db.ts'
import { tagsOf } from '../check.ts'
import { type Mapping, ownMappingId, type Profile, type Use } from '../model.ts'
import { fieldsOf } from '../profiles.ts'
import { readXmlPath, type XmlPath, type XmlStructure } from '../xml/structure.ts'
import { structureOf } from '../xml/structures.ts'
import { fieldTexts } from './field-texts.ts'
import type { Text } from './values.ts'

/** The values of a field, and their path. */
export interface XmlField {
  readonly path: XmlPath
  readonly texts: readonly Text[]
  /** True: one element for each text; false: the texts are joined. */
  readonly list: boolean
  /** One element for each language. */
  readonly l10n: boolean
}

export interface XmlMapping {
  readonly structure: XmlStructure
  /** @param address the value of `deep_link_url`; null: none. Languages: best first */
  fieldsOf(
    tree: ObjectTree,
    told: { readonly languages: readonly string[]; readonly address: string | null },
  ): XmlField[]
}

export interface XmlMappingDeps {
  readonly db: Queryable
  readonly datamodel: { current(): Model }
  readonly profile: (name: string) => Profile | undefined
  readonly find: (from: Queryable, id: number) => Promise<Mapping>
  readonly usableFor: (from: Queryable, use: Use) => Promise<readonly Mapping[]>
}

type Bound = Pick<Mapping, 'id' | 'table' | 'fields'>

export type XmlMappings = ReturnType<typeof createXmlMappings>

export function createXmlMappings({ db, datamodel, profile: profileNamed, find, usableFor }: XmlMappingDeps) {
  function mapped(profile: Profile, structure: XmlStructure, mappings: readonly Bound[]): XmlMapping {
    const known = fieldsOf(profile)
    // Columns with the names given in the profile, if there is no mapping for the object type.
    const byName: Bound = {
      id: ownMappingId,
      table: null,
      fields: [...known.keys()].map((name) => ({ name, custom: false, sources: [] })),
    }
    const boundTo = (table: number): Bound =>
      mappings.find((one) => one.table === table) ?? mappings.find((one) => one.table === null) ?? byName
    const pathsOf = pathReader(structure)
    return {
      structure,
      fieldsOf(tree, { languages, address }) {
        const mapping = boundTo(tree.table.id)
        const context = { mapping, tree, model: datamodel.current(), languages, address }
        return mapping.fields.flatMap((field) => {
          const own = known.get(field.name)
          const texts = fieldTexts(context, field, own) ?? []
          if (texts.length === 0) return []
          return tagsOf(field, own).exports.map(({ path, list = false, l10n = false }) => ({
            path: pathsOf(path),
            texts,
            list,
            l10n,
          }))
        })
      },
    }
  }

  function ofProfile(name: string, mappings: readonly Bound[]): XmlMapping {
    const profile = profileNamed(name)
    const structure = profile && structureOf(profile.xmlBase)
    if (!profile || !structure) throw new Error(`the profile ${name} is none of XML`)
    return mapped(profile, structure, mappings)
  }

  return {
    /**
     * By the mappings of a profile: the mapping for the object's type, else the mapping for all types, else the names of
     * columns.
     */
    async byProfile(name: string): Promise<XmlMapping> {
      const mappings = await usableFor(db, 'xml_export')
      return ofProfile(
        name,
        mappings.filter(({ profile }) => profile === name),
      )
    },

    /** By one mapping; objects of other types by the names of their columns. @throws {AppError} `ServerGeneric` */
    async byId(id: number): Promise<XmlMapping> {
      const mapping = await find(db, id)
      if (mapping.type.xml_export !== true) {
        throw badRequest(`The mapping ${id} is not for exports as XML.`, { basetype: 'mapping', value: id })
      }
      return ofProfile(mapping.profile, [mapping])
    },
  }
}

/** Paths were checked when the mapping was saved; each is parsed once. */
function pathReader(structure: XmlStructure): (path: string) => XmlPath {
  const read = new Map<string, XmlPath>()
  return (path) => {
    const known = read.get(path) ?? readXmlPath(structure, path, 'path')
    read.set(path, known)
    return known
  }
}
