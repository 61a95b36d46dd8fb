/** Formats of metadata by their prefixes. To offer another format of src/formats, add an entry to the table. */
import {
  dcNamespace,
  dcSchema,
  type FormatService,
  nativeNamespace,
  prescribed,
  type Sheet,
} from '../formats/service.ts'

export interface Prefix {
  readonly prefix: string
  /** Its name in src/formats. */
  readonly format: string
  readonly schema: string
  readonly namespace: string
}

export interface PrefixDeps {
  readonly externalUrl: string
  readonly formats: Pick<FormatService, 'find'>
  readonly sheets: () => readonly Sheet[]
}

const builtIn = (externalUrl: string): readonly Prefix[] => [
  { prefix: 'oai_dc', format: 'dc', schema: dcSchema, namespace: dcNamespace },
  {
    prefix: 'native',
    format: 'xml_native',
    schema: `${externalUrl}/api/v1/formats/xml_native.xsd`,
    namespace: nativeNamespace,
  },
  ...prescribed.map((one) => ({ ...one, prefix: one.format })),
]

export function createPrefixes({ externalUrl, formats, sheets }: PrefixDeps) {
  const own = builtIn(externalUrl)

  /** All prefixes: every record is available in each format. */
  const list = (): readonly Prefix[] => [
    ...own.filter(({ format }) => formats.find(format) !== null),
    ...sheets()
      .filter((sheet) => sheet.use_for_oai_pmh)
      .map(({ oai_pmh_prefix: name, schema, namespace }) => ({
        prefix: `xslt-${name}`,
        format: `xslt/${name}`,
        schema,
        namespace,
      })),
  ]

  return { list, find: (prefix: string): Prefix | null => list().find((one) => one.prefix === prefix) ?? null }
}

export type Prefixes = ReturnType<typeof createPrefixes>
