import type { FileChoice, MergeMode, WrittenObject } from '../objects/service.ts'

export type { FileChoice, FilePlace, ShownFile, WrittenFile, WrittenObject } from '../objects/service.ts'

/** Options of writers. Each option means the same for all writers; docs/formats.md lists options that a writer ignores. */
export interface FormatOptions {
  /**
   * Fields by their full names (`artwork.title`, `artwork._nested:artwork__contributor.role`, of linked objects
   * `artwork.artist.person.name`), or prefixes of them. The values are names that replace those of columns and elements.
   * System fields by their names (`_tags`). Empty or absent: all fields.
   */
  readonly fields?: Readonly<Record<string, { readonly displayName?: string | undefined }>>
  /** Texts in all languages; otherwise in those of the reader, and where there is no such text, in the existing ones. */
  readonly allLanguages?: boolean
  /** Empty fields stay empty, even if the mask lets them inherit. */
  readonly noInheritance?: boolean
  /** Objects above are written completely in the path of an object of a hierarchy. */
  readonly includeParents?: boolean
  readonly mergeLinkedObjects?: MergeMode | undefined
  /** 1 to 9. */
  readonly mergeMaxDepth?: number | undefined
  /** Values by their paths, without structure: `json` and `xml_native`; tables are always flat. */
  readonly flat?: boolean
  /** The metadata of files (`metadata`), in addition to their technical metadata. */
  readonly fileMetadata?: boolean
  /** Days for which the addresses of files are valid; absent: default. */
  readonly fileDays?: number | undefined
  /** Name of the mask; otherwise the best one that the reader may use. */
  readonly mask?: string | undefined
  readonly table?: TableOptions
  /** The choice of files and their form; absent: all, with all their versions by their addresses. */
  readonly fileOf?: FileChoice | undefined
  /** Called with each object passed to the writer, in their order. */
  readonly written?: ((object: WrittenObject) => void) | undefined
}

/** Options of `csv` and `xlsx`. */
export interface TableOptions {
  /** Headings in the reader's language in place of the names of columns. */
  readonly localizedColumnNames?: boolean
  /** The position of an object in its hierarchy: a column for each level, or all levels in one, with this separator. */
  readonly hierarchy?: 'column' | '>' | '/'
  /** The changelog of the object: one column, a line for each version. */
  readonly includeChangelog?: boolean | { readonly withUser?: boolean }
  /** `csv`. One character. */
  readonly delimiter?: string
  readonly quote?: string
  readonly escape?: string
  readonly useBom?: boolean
  /** `xlsx`: a picture of the object. */
  readonly includeThumbnail?: boolean
}
