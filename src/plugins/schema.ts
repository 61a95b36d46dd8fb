import { type Static, Type } from 'typebox'

const open = { additionalProperties: true }
const Texts = Type.Record(Type.String(), Type.String(), { description: 'By language.' })

/** The members of a plugin's manifest in `GET /plugin` and in the management. */
export const PluginBase = Type.Object(
  {
    name: Type.String(),
    version: Type.String({ description: 'As the manifest has it.' }),
    displayname: Texts,
    info: Type.Optional(Texts),
    l10n: Type.Optional(Type.String({ description: 'Path of the texts of the plugin, in its folder.' })),
    server: Type.Optional(Type.Object({}, open)),
    url: Type.Optional(Type.String({ description: 'Where to read about the plugin.' })),
    webfrontend: Type.Optional(Type.Object({}, { ...open, description: 'As the manifest has it, for front ends.' })),
    custom: Type.Optional(Type.Object({}, { ...open, description: 'As the manifest has it, for front ends.' })),
    base_url: Type.Optional(Type.String({ description: 'Where the files for browsers are.' })),
    plugin_url: Type.Optional(Type.String({ description: 'Where the extensions of the plugin are.' })),
    build_info: Type.Optional(Type.Record(Type.String(), Type.String())),
    collection_upload: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  },
  { title: 'PluginBase', ...open },
)
export type PluginBase = Static<typeof PluginBase>

export const PluginList = Type.Object(
  {
    bundle: Type.Object({
      javascript: Type.String(),
      css: Type.String(),
      html: Type.String(),
      l10n: Type.String({ description: 'Behind it comes `/<language>.json`.' }),
    }),
    plugins: Type.Array(PluginBase),
  },
  { title: 'PluginApiGET' },
)
export type PluginList = Static<typeof PluginList>

const nullable = <T extends Parameters<typeof Type.Union>[0][number]>(type: T) => Type.Union([type, Type.Null()])

export const ManagedPlugin = Type.Object(
  {
    id: Type.Integer(),
    name: Type.String(),
    enabled: Type.Boolean(),
    auto_added: Type.Boolean({ description: 'Found in a folder of the configuration.' }),
    path: nullable(Type.String()),
    url: nullable(Type.String()),
    type: Type.String({ description: '`disk`, `zip` or `url`.' }),
    zip_file: nullable(Type.Object({ _id: Type.Integer() })),
    update_policy: Type.String({ description: '`never`, `daily` or `always`: for those from an address.' }),
    manifest: PluginBase,
    unsupported: Type.Array(Type.String(), { description: 'Places of the manifest that have no effect.' }),
    last_checked_at: nullable(Type.String()),
    last_failure: nullable(Type.String({ description: 'Why the last look for an update failed.' })),
    created_at: Type.String(),
    updated_at: Type.String(),
  },
  { title: 'PluginManageApi' },
)
export type ManagedPlugin = Static<typeof ManagedPlugin>

export const ManagedPlugins = Type.Object({ plugins: Type.Array(ManagedPlugin) }, { title: 'PluginManageList' })
export type ManagedPlugins = Static<typeof ManagedPlugins>

const optional = <T extends Parameters<typeof Type.Union>[0][number]>(type: T) => Type.Optional(nullable(type))

export const PluginInput = Type.Object(
  {
    id: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
        description: 'Of a new one 0 or absent; else that of the address.',
      }),
    ),
    type: optional(Type.String({ maxLength: 20, description: 'Of a new one `zip` or `url`; afterwards it stays.' })),
    zip_file: optional(
      Type.Object(
        {
          _id: Type.Integer({
            minimum: 1,
            maximum: Number.MAX_SAFE_INTEGER,
            description: 'A file that the caller may download.',
          }),
        },
        { additionalProperties: true },
      ),
    ),
    url: optional(Type.String({ maxLength: 2000, description: 'Address of the archive.' })),
    update_policy: optional(
      Type.Enum(['never', 'daily', 'always'], { description: 'How often the address is looked at.' }),
    ),
    enabled: optional(Type.Boolean({ description: 'A new plugin is off.' })),
    name: Type.Optional(Type.Unknown({ description: 'What the service tells is ignored.' })),
    auto_added: Type.Optional(Type.Unknown()),
    path: Type.Optional(Type.Unknown()),
    manifest: Type.Optional(Type.Unknown()),
    unsupported: Type.Optional(Type.Unknown()),
    last_checked_at: Type.Optional(Type.Unknown()),
    last_failure: Type.Optional(Type.Unknown()),
    created_at: Type.Optional(Type.Unknown()),
    updated_at: Type.Optional(Type.Unknown()),
  },
  { title: 'PluginManageInput', additionalProperties: true },
)
export type PluginInput = Static<typeof PluginInput>

export const Acknowledged = Type.Object({ acknowledged: Type.Literal(true) }, { title: 'PluginDeleteAck' })
