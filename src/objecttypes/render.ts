import type { Table } from '../datamodel/model.ts'
import type { RightApi } from '../rights/schema.ts'
import { renderWho, type WhoNames } from '../rights/service.ts'
import { filenameReplacements } from './filename-template.ts'
import { type ObjecttypeSettings, type StoredObjecttype, shownMappings } from './model.ts'
import type { ObjecttypeOutput } from './schema.ts'

type Wire = Readonly<Record<string, unknown>>

/** The parts that other capabilities render, in the order of the object types; `null` for parts that the caller may not see. */
export interface RenderParts {
  readonly names: WhoNames
  readonly acls: readonly (readonly RightApi[])[] | null
  readonly transitions: readonly (readonly Wire[])[] | null
  readonly tags: (table: Table, settings: ObjecttypeSettings) => { own: readonly Wire[]; compiled: readonly Wire[] }
  readonly languages: readonly string[]
}

/** An object type with its settings as clients see it. Masks that a commit has removed since are left out. */
export function renderObjecttype(
  table: Table,
  { version, settings }: StoredObjecttype,
  index: number,
  parts: RenderParts,
): ObjecttypeOutput {
  const tags = parts.tags(table, settings)
  const masks = new Set([...table.masks.values()].map((mask) => mask.id))
  const { caption_set_by: _, ...fields } = settings.fields
  const standardMasks = settings.standardMasks?.filter((id) => masks.has(id)) ?? []
  return {
    _basetype: 'objecttype',
    objecttype: {
      _id: table.id,
      _version: version,
      name: table.name,
      ...(settings.contact ? { contact: renderWho(settings.contact, parts.names) } : {}),
      ...shownMappings,
      show_in_collections: true,
      show_in_facet_grouping: true,
      show_in_main_menu_with_icon: '',
      empty_placeholder_icon: '',
      description: {},
      custom_data: {},
      ...fields,
      standard_numbering: '',
    },
    _standard_masks: standardMasks.length > 0 ? standardMasks : null,
    _export_asset_filenames: settings.exportAssetFilenames,
    _filename_replacements: filenameReplacements(table, parts.languages),
    _compiled_tags: [...tags.compiled],
    _private_tags: settings.privateTags,
    _private_transitions: settings.privateTransitions,
    ...(parts.acls && parts.transitions
      ? {
          _acl: [...(parts.acls[index] ?? [])],
          _tags: [...tags.own],
          tags: [...tags.own],
          _transitions: [...(parts.transitions[index] ?? [])],
          transitions: [...(parts.transitions[index] ?? [])],
          _maskfilters: Object.fromEntries(
            Object.entries(settings.maskfilters).filter(([id]) => masks.has(Number(id))),
          ),
          _columnfilters: [...settings.columnfilters],
        }
      : {}),
  }
}
