/** The tree of an object, for writers. */
export {
  type FieldTree,
  type FileTree,
  fileLists,
  isRecord,
  type KeepPath,
  namedBy,
  type ObjectTree,
  type RowTree,
  records,
  treeOf,
  type VersionTree,
  type Wire,
  writtenOf,
} from '../objects/service.ts'
