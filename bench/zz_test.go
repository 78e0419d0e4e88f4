package main
import ("testing";"os";"os/exec";"context")
func TestZZ(t *testing.T){
 if os.Getenv("ZZ")=="" {t.Skip()}
 tmp:=t.TempDir(); bin:=os.Getenv("ZZ")
 if _,err:=exec.LookPath(bin); err!=nil {t.Fatal(err)}
 o:=&side{name:"ours",argv:[]string{bin}}
 u:=measureUndo(context.Background(),o,tmp)
 printUndo(os.Stdout,u)
}
