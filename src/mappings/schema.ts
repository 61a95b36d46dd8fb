import { type Static, Type } from 'typebox'
import { LocaValue } from '../datamodel/schema.ts'
import { flag, kept, refused, refusedChange } from '../platform/http/query.ts'
import { strategies } from './model.ts'

/** Wire shapes of profiles and mappings (`XmlMappingProfile`, `XmlMappingApi`). */

const open = { additionalProperties: true } as const
const notHere = 'no profile of this service has it'

const ProfileType = Type.Object(
  {
    exiftool_import: Type.Optional(Type.Boolean({ description: 'Metadata of files become objects.' })),
    exiftool_export: Type.Optional(Type.Boolean({ description: 'Objects are written into copies of files.' })),
    exiftool_export_omit_empty: Type.Optional(
      Type.Boolean({ description: 'A field without a value leaves its tags as they are, instead of emptying them.' }),
    ),
    xml_export: Type.Optional(Type.Boolean({ description: 'Objects are written as XML of the profile: LIDO, MODS.' })),
    dc_export: Type.Optional(Type.Boolean()),
    plugins_import: Type.Optional(Type.Boolean({ description: 'It has fields of recipes of plugins besides.' })),
  },
  {
    ...open,
    title: 'XmlMappingProfileType',
    description: 'What it can be used for; a mapping may say less than its profile.',
  },
)

const ExportTag = Type.Object(
  {
    path: Type.String({
      maxLength: 400,
      description: 'A tag: `XMP-dc:Title`, or one of your own in XMP. For XML the path of an element below the root.',
    }),
    list: Type.Optional(Type.Boolean({ description: 'One entry for each value; else they are joined with `; `.' })),
    l10n: Type.Optional(Type.Boolean({ description: 'One text for each language.' })),
    attributes: Type.Optional(Type.Unknown(refused(notHere))),
    elements_js: Type.Optional(Type.Unknown(refused('programs of mappings are not run'))),
  },
  { ...open, title: 'XmlMappingFieldExport' },
)

const ImportTag = Type.Object(
  {
    search: Type.String({ maxLength: 500, description: 'A tag, or a path whose last step is one.' }),
    l10n_prefix: Type.Optional(Type.Unknown(refused(notHere))),
  },
  { ...open, title: 'XmlMappingFieldImport' },
)

const Native = Type.Object(
  {
    type: Type.Optional(
      Type.String({
        maxLength: 100,
        description: '`text_fixed` (the `text`, with `%_uuid%`), `deep_link_url`; else a field, and if said its type.',
      }),
    ),
    field: Type.Optional(
      Type.String({
        maxLength: 500,
        description: '`artwork.title`, `artwork._nested:artwork__keyword.keyword.keyword.name`.',
      }),
    ),
    text: Type.Optional(Type.String({ maxLength: 10_000 })),
  },
  { ...open, title: 'XmlMappingFieldNative' },
)

const Field = Type.Object(
  {
    _id: Type.Optional(Type.String({ maxLength: 700, description: 'The same as `name`.' })),
    name: Type.Optional(
      Type.String({ maxLength: 700, description: 'A field of the profile, or with `custom` one of your own.' }),
    ),
    strategy_import: Type.Optional(
      Type.String({
        maxLength: 40,
        description: `What becomes of values that a field before it gave: \`${strategies.join('`, `')}\`.`,
      }),
    ),
    type: Type.Optional(
      Type.Enum(['Output', 'Splitter', 'Input', 'Hidden'], {
        description: '`Input`: import only. `Output`: export only.',
      }),
    ),
    text: Type.Optional(Type.Union([Type.String({ maxLength: 1000 }), LocaValue])),
    xml: Type.Optional(Type.String({ maxLength: 1000, ...refused(notHere) })),
    xml_export: Type.Optional(Type.Array(ExportTag, { maxItems: 50 })),
    xml_import: Type.Optional(Type.Array(ImportTag, { maxItems: 50 })),
    json_import: Type.Optional(
      Type.String({
        maxLength: 500,
        description: 'Of a field of a recipe: the way to its value in what the recipe says.',
      }),
    ),
    json_import_type: Type.Optional(
      Type.String({ maxLength: 64, description: 'What stands there. Both follow from the recipe.' }),
    ),
    native: Type.Optional(Type.Array(Native, { maxItems: 50, description: 'Where values go to, or come from.' })),
    custom: Type.Optional(Type.Boolean()),
    x: Type.Optional(Type.Integer(kept('front ends'))),
    y: Type.Optional(Type.Integer(kept('front ends'))),
    recipe_name: Type.Optional(
      Type.String({ maxLength: 500, description: 'The recipe of a plugin whose field it is.' }),
    ),
  },
  { ...open, title: 'XmlMappingProfileField' },
)

const Tab = Type.Object({
  tab: Type.String(),
  text: LocaValue,
  custom: Type.Boolean({ description: 'Mappings may have fields of their own there.' }),
  fields: Type.Array(Type.Object({}, { ...open, 'x-names': () => Field })),
})

export const ProfileOutput = Type.Object(
  {
    profile: Type.String({ description: 'With the ending of its file: `file-metadata.yml`.' }),
    displayname: LocaValue,
    profile_type: ProfileType,
    xml_base: Type.Optional(Type.String({ description: 'Namespace of the elements, of profiles for XML.' })),
    tabs: Type.Array(Tab),
    _compiled_recipes: Type.Object(
      {},
      { ...open, description: 'Recipes of plugins that the profile has fields of, by name: parameters and fields.' },
    ),
    mappings: Type.Array(
      Type.Object({
        id: Type.Integer(),
        displayname: LocaValue,
        _recipes_required: Type.Array(Type.String(), { description: 'Recipes whose fields it binds.' }),
      }),
    ),
  },
  { title: 'XmlMappingProfile' },
)
export type ProfileOutput = Static<typeof ProfileOutput>

export const MappingInput = Type.Object(
  {
    id: Type.Optional(
      Type.Union(
        [Type.Integer(), Type.Null()],
        refusedChange('ids are given by the service; that of the address counts'),
      ),
    ),
    idTable: Type.Optional(
      Type.Union([Type.Integer({ minimum: 0, maximum: 2_147_483_647 }), Type.Null()], {
        description: 'Id of the object type; null or 0: fields may be those of several.',
      }),
    ),
    displayname: Type.Optional(LocaValue),
    profile: Type.String({ maxLength: 200, description: 'Name of a profile.' }),
    profile_type: Type.Optional(ProfileType),
    xml_base: Type.Optional(
      Type.String({ maxLength: 200, description: 'Namespace of the elements: that of the profile, or nothing.' }),
    ),
    fields: Type.Optional(Type.Array(Field, { maxItems: 1000 })),
    limited_extensions: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 20 }), {
        maxItems: 100,
        description: 'Extensions of the files that it is for; none: all.',
      }),
    ),
    recipe_configs: Type.Optional(
      Type.Object(
        {},
        { ...open, description: 'Parameters of the recipes of its fields: `{"<recipe>": {"params": {…}}}`.' },
      ),
    ),
    custom: Type.Optional(Type.Boolean(refusedChange('it is true of all mappings but those of the service'))),
  },
  { ...open, title: 'XmlMappingInput' },
)
export type MappingInput = Static<typeof MappingInput>
export type FieldInput = Static<typeof Field>
export type NativeInput = Static<typeof Native>

export const MappingOutput = Type.Object(
  {
    id: Type.Integer(),
    idTable: Type.Optional(Type.Integer()),
    displayname: LocaValue,
    profile: Type.String(),
    profile_type: ProfileType,
    xml_base: Type.Optional(Type.String({ description: 'Namespace of the elements, of mappings for XML.' })),
    fields: Type.Array(Type.Object({}, { ...open, 'x-names': () => Field })),
    limited_extensions: Type.Array(Type.String()),
    recipe_configs: Type.Object({}, open),
    custom: Type.Boolean({ description: 'False: it comes with the service, and cannot be changed.' }),
  },
  { title: 'XmlMappingApi' },
)
export type MappingOutput = Static<typeof MappingOutput>

export const TagCatalog = Type.Unsafe<unknown>(
  Type.Object(
    {
      tags: Type.Array(
        Type.Object(
          {
            path: Type.String(),
            group: Type.String(),
            description: Type.Record(Type.String(), Type.String()),
            writable: Type.Boolean({ description: 'Exports may write it.' }),
            type: Type.String(),
            l10n: Type.Optional(Type.Boolean()),
            list: Type.Optional(Type.Boolean()),
            list_type: Type.Optional(Type.Enum(['Bag', 'Seq'])),
          },
          { title: 'XmlMappingTag' },
        ),
      ),
      xmlns: Type.Record(Type.String(), Type.String()),
      exiftool_version: Type.String(),
    },
    { title: 'XmlMappingTagCatalog' },
  ),
)

export const TagQuery = Type.Object({ pretty: flag('Indent the JSON of the answer.') })

export const MappingParams = Type.Object({
  mapping: Type.String({ maxLength: 100, description: 'Id of the mapping.' }),
})
export const ProfileParams = Type.Object({
  profile: Type.String({ maxLength: 200, description: 'Name of the profile, with the ending of its file.' }),
})
export const DeleteQuery = Type.Object({
  delete_policy: Type.Optional(
    Type.String({
      maxLength: 100,
      description: '`delete`: collections, pools and object types that name the mapping name none from then on.',
    }),
  ),
})
